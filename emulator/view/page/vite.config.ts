// The page is three files with fixed names, so that `ringhil view --html` can put them into one.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../built",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: { entryFileNames: "page.js", assetFileNames: "page[extname]", codeSplitting: false },
    },
  },
});

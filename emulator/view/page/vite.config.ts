// The page is three files with fixed names, so that `ringhil view --html` can put them into one; what reports take from
// it are two more, of a build of their own: `vite build --mode report`.
import { defineConfig } from "vite";

export default defineConfig(({ mode }) => ({
  base: "./",
  build: {
    outDir: "../built",
    emptyOutDir: mode === "report", // which comes first: the page is what `make` looks for
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      ...(mode === "report" ? { input: "src/report.ts" } : {}),
      output: {
        entryFileNames: mode === "report" ? "report.js" : "page.js",
        assetFileNames: mode === "report" ? "report[extname]" : "page[extname]",
        codeSplitting: false,
      },
    },
  },
}));

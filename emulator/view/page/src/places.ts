// Rows by their place in the list: a file that stands alone has some of them only.
import type { ViewWindow } from "./messages";

export class Places {
  readonly count: number;

  /** Of windows of rows, in order. */
  constructor(private readonly windows: readonly ViewWindow[]) {
    this.count = windows.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  }

  /** The number of the row in a place, from 1; beyond the ends that of the nearest. */
  number(place: number): number {
    let left = Math.max(1, Math.min(this.count, place));
    for (const { first, last } of this.windows) {
      if (left <= last - first + 1) return first + left - 1;
      left -= last - first + 1;
    }
    return 0;
  }

  /** The place of a row; of one that isn't there, that of the one before. */
  place(number: number): number {
    let before = 0;
    for (const { first, last } of this.windows) {
      if (number < first) return before;
      if (number <= last) return before + number - first + 1;
      before += last - first + 1;
    }
    return before;
  }
}

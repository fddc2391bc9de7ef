// Where answers come from: the server of `ringhil view`, or the file that `ringhil view --html` wrote.
import type * as m from "./messages";

/** Play futures of a run that failed, break that off, or only tell how far it is. */
export type Doing = "begin" | "stop" | "";

export interface Source {
  /** Whether states, searches by condition and a run that goes on can be asked for. */
  readonly alive: boolean;
  /** Which rows there are; null: all. */
  readonly windows: readonly m.ViewWindow[] | null;
  /** `quick`: what isn't known at once (failures, why it can't be played) may be left out. */
  about(quick?: boolean): Promise<m.ViewAbout>;
  rows(from: number, count: number): Promise<m.ViewRows>;
  row(number: number): Promise<m.ViewRow>;
  hops(number: number): Promise<m.ViewHops>;
  passes(from: number, to: number): Promise<m.ViewPasses>;
  picture(cycle: number, exact: boolean): Promise<m.ViewPicture>;
  marks(buckets: number): Promise<m.ViewMarks>;
  find(condition: string, from: number, back: boolean): Promise<m.ViewFound>;
  state(gpu: string, number: number): Promise<m.ViewState>;
  card(name: string, number: number): Promise<m.CardState>;
  elsewhere(number: number): Promise<m.Elsewhere>;
  doomed(does: Doing): Promise<m.DoomedAnswer>;
  follow(take: (news: m.Followed) => void): void;
}

/** Whole numbers of 64 bits stay what they are, where the browser shows the text of a number. */
function parsed(text: string): unknown {
  const exact = (_: string, value: unknown, context?: { source?: string }): unknown =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source?.match(/^-?\d+$/) ? BigInt(context.source) : value;
  return JSON.parse(text, exact);
}

/** Of the server. An answer that is an error is thrown with its text. */
export class Served implements Source {
  readonly alive = true;
  readonly windows = null;

  private async ask<Answer>(path: string, query: Record<string, string | number> = {}): Promise<Answer> {
    const words = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    const url = `api/${path}${words.size ? `?${words}` : ""}`;
    let answer: Response;
    try {
      answer = await fetch(url, { headers: { accept: "application/json" } });
    } catch {
      throw new Error("The server of this page has ended: start ringhil view again.");
    }
    const found = await answer.text().then(parsed).catch(() => null);
    if (!answer.ok) throw new Error((found as m.ErrorAnswer | null)?.error ?? `${url}: ${answer.status}`);
    return found as Answer;
  }

  about = (quick = false) => this.ask<m.ViewAbout>("about", quick ? { quick: 1 } : {});
  rows = (from: number, count: number) => this.ask<m.ViewRows>("rows", { from, count });
  row = (number: number) => this.ask<m.ViewRow>(`row/${number}`);
  hops = (number: number) => this.ask<m.ViewHops>(`hops/${number}`);
  passes = (from: number, to: number) => this.ask<m.ViewPasses>("passes", { from, to });
  picture = (cycle: number, exact: boolean) => this.ask<m.ViewPicture>("picture", { cycle, exact: exact ? 1 : 0 });
  marks = (buckets: number) => this.ask<m.ViewMarks>("marks", { buckets });
  find = (condition: string, from: number, back: boolean) =>
    this.ask<m.ViewFound>("find", { condition, from, back: back ? 1 : 0 });
  state = (gpu: string, number: number) => this.ask<m.ViewState>("state", { gpu, number });
  card = (name: string, number: number) => this.ask<m.CardState>("card", { name, number });
  elsewhere = (number: number) => this.ask<m.Elsewhere>(`elsewhere/${number}`);
  doomed = (does: Doing) => this.ask<m.DoomedAnswer>("doomed", does ? { do: does } : {});

  follow(take: (news: m.Followed) => void): void {
    const stream = new EventSource("api/follow");
    stream.onmessage = (event) => {
      const news = JSON.parse(event.data as string) as m.Followed;
      if (!news.live) stream.close();
      take(news);
    };
  }
}

/** Of the file: what it holds of the run, around its failures or all. */
export class Embedded implements Source {
  readonly alive = false;
  readonly windows: readonly m.ViewWindow[];

  constructor(private readonly held: m.Embedded) {
    this.windows = held.windows;
  }

  about = async () => this.held.about;

  async rows(from: number, count: number): Promise<m.ViewRows> {
    const start = this.place(from);
    const rows = this.held.rows.slice(start, start + count).filter((row) => row.number < from + count);
    return { rows, last: this.held.about.rows };
  }

  async row(number: number): Promise<m.ViewRow> {
    const found = this.held.rows[this.place(number)];
    if (found?.number !== number) throw new Error(`Row ${number.toLocaleString("en")} is not in this file.`);
    return found;
  }

  async hops(number: number): Promise<m.ViewHops> {
    const found = this.held.hops.find((hops) => hops.number === number);
    return found ?? { number, hops: [] };
  }

  async passes(from: number, to: number): Promise<m.ViewPasses> {
    const found = this.held.passes.filter((passes) => passes.first <= to && passes.last >= from);
    const frames = found.flatMap((passes) => passes.frames.filter((frame) => frame.cycle >= from && frame.cycle <= to));
    return { first: from, last: to, frames };
  }

  async picture(cycle: number): Promise<m.ViewPicture> {
    const found = this.held.pictures.findLast((picture) => picture.cycle <= cycle) ?? this.held.pictures[0];
    if (!found) throw new Error("This file has no pictures.");
    const row = this.held.rows.findLast((line) => line.cycle <= cycle)?.number ?? 0;
    return { ...found, row };
  }

  marks = async () => this.held.marks;

  async find(words: string, from: number, back: boolean): Promise<m.ViewFound> {
    const wanted = words.toLowerCase();
    const holds = (row: m.ViewRow) =>
      (back ? row.number < from : row.number > from) &&
      `${row.cycle} ${row.gpu} ${row.kind} ${row.text}`.toLowerCase().includes(wanted);
    const found = back ? this.held.rows.findLast(holds) : this.held.rows.find(holds);
    return { row: found?.number ?? null };
  }

  state = () => Promise.reject(new Error("Registers and memory are in the recording: ringhil view FILE shows them."));
  card = this.state;
  elsewhere = () => Promise.reject(new Error("Other tools open the recording: ringhil view FILE, then o."));
  doomed = async () => ({ playing: false, done: 0, total: 0, refused: null, found: this.held.doomed ?? null });
  follow(): void {}

  private place(number: number): number {
    let [low, high] = [0, this.held.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.held.rows[middle]!.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The one of this page. */
export function opened(): Source {
  const held = document.getElementById("ringhil");
  return held ? new Embedded(parsed(held.textContent ?? "") as m.Embedded) : new Served();
}

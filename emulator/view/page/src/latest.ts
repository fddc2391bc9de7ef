// One question at a time: while it is out, only the newest of those that follow is kept.

export function latest<Asked, Answer>(
  ask: (asked: Asked) => Promise<Answer>,
  take: (answer: Answer, asked: Asked) => void,
  fail: (error: Error) => void,
): (asked: Asked) => void {
  let busy = false;
  let waiting: { asked: Asked } | null = null;
  async function go(asked: Asked): Promise<void> {
    busy = true;
    try {
      take(await ask(asked), asked);
    } catch (error) {
      fail(error as Error);
    }
    busy = false;
    if (waiting) {
      const next = waiting.asked;
      waiting = null;
      void go(next);
    }
  }
  return (asked) => {
    if (busy) waiting = { asked };
    else void go(asked);
  };
}

// A box over the page, which Esc, its button and a press beside it close.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export function Dialog(props: { name: string; open: boolean; close: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    if (props.open) box.current!.showModal();
    else box.current!.close();
  }, [props.open]);
  return (
    <dialog ref={box} aria-labelledby={title} onClose={props.close}
      onClick={(event) => event.target === box.current && props.close()}>
      {props.open && (
        <>
          <h2 id={title}>{props.name}</h2>
          {props.children}
          <button class="main" onClick={props.close}>Close</button>
        </>
      )}
    </dialog>
  );
}

// The browser's own modal dialog: it keeps the focus inside and closes on Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { IconButton } from "./icons.tsx";

export function Dialog(props: { title: string; class?: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current!;
    const opener = document.activeElement;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.class}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => event.target === ref.current && props.onClose()}
    >
      <div class="dialog">
        <header>
          <h2>{props.title}</h2>
          <IconButton name="close" label="Close" onClick={props.onClose} />
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

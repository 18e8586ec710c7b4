// Asks before something is deleted, and stays open with the reason where that failed.
import { useState } from "preact/hooks";
import { saying } from "../core/api.ts";
import { Dialog } from "./dialog.tsx";

export function ConfirmDialog(props: { title: string; text: string; act: () => Promise<void>; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const act = () => {
    setBusy(true);
    props.act().then(props.onClose, (error) => {
      setBusy(false);
      setFault(saying(error));
    });
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p class="prose">{props.text}</p>
      {fault && (
        <p class="wrong" role="alert">
          {fault}
        </p>
      )}
      <div class="row end">
        <button type="button" onClick={props.onClose}>
          Keep
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={act}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}

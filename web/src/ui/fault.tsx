// Why a view has nothing to show: the server was started without it, the key is not for it, or it failed.
import { askForKey } from "../core/api.ts";
import type { ApiFailure } from "../core/api.ts";

export interface Feature {
  offCode: string; // of the error where the server was started without it
  off: string; // as a sentence
  option: string; // that turns it on
  scope: string; // that a key needs for it
}

export function Fault({ fault, again }: { fault: ApiFailure; again?: () => void }) {
  return (
    <div class="fault" role="alert">
      <span>{fault.message}</span>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Missing({ feature, fault, again }: { feature: Feature; fault: ApiFailure; again: () => void }) {
  if (fault.code === feature.offCode) {
    return (
      <div class="empty" role="status">
        <h2>{feature.off}</h2>
        <p>It was started without this. The option that turns it on:</p>
        <p>
          <code class="option">ruvllm serve {feature.option}</code>
        </p>
      </div>
    );
  }
  if (fault.status !== 401 && fault.status !== 403) return <Fault fault={fault} again={again} />;
  const isNarrow = fault.status === 403;
  return (
    <div class="empty" role="status">
      <h2>{isNarrow ? "This key is not for that" : "The server asks for a key"}</h2>
      <p>
        A key needs the scope <code>{feature.scope}</code>. {isNarrow && `The server said: ${fault.message}`}
      </p>
      <p>
        <button type="button" onClick={() => askForKey(isNarrow)}>
          {isNarrow ? "Use another key" : "Enter a key"}
        </button>
      </p>
    </div>
  );
}

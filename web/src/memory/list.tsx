// A list of what is kept: read page by page, each item deleted after a question.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Pages } from "../ui/answer.ts";
import { ConfirmDialog } from "../ui/confirm.tsx";
import { Fault } from "../ui/fault.tsx";
import { IconButton } from "../ui/icons.tsx";

interface Props<T> {
  title: string;
  empty: string;
  pages: Pages<T>;
  idOf: (item: T) => string;
  nameOf: (item: T) => string;
  lossOf: (item: T) => string; // what deleting it means
  remove: (item: T) => Promise<void>;
  onRemoved: () => void;
  children: (item: T) => ComponentChildren;
}

export function KeptList<T>(props: Props<T>) {
  const { pages, nameOf } = props;
  const [chosen, setChosen] = useState<T | null>(null);
  const head = useRef<HTMLHeadingElement>(null);
  const hasRemoved = useRef(false);
  const items = pages.value ?? [];
  const close = () => setChosen(null);
  const remove = async (item: T) => {
    await props.remove(item);
    hasRemoved.current = true;
    props.onRemoved();
  };
  // The button that had the focus goes with its item.
  useEffect(() => {
    if (!hasRemoved.current) return;
    hasRemoved.current = false;
    head.current?.focus();
  }, [pages.value?.length]);
  return (
    <section class="rows">
      <h3 ref={head} tabIndex={-1}>
        {props.title}
      </h3>
      {pages.fault && <Fault fault={pages.fault} again={pages.again} />}
      {pages.value && items.length === 0 && <p class="hint">{props.empty}</p>}
      <ul class="kepts" aria-label={props.title}>
        {items.map((item) => (
          <li class="kept" key={props.idOf(item)}>
            <div class="kept-head">
              <strong>
                <bdi>{nameOf(item)}</bdi>
              </strong>
              <IconButton name="trash" label={`Delete ${nameOf(item)}`} onClick={() => setChosen(item)} />
            </div>
            {props.children(item)}
          </li>
        ))}
      </ul>
      {pages.hasMore && (
        <button type="button" disabled={pages.isBusy} onClick={pages.more}>
          Show more
        </button>
      )}
      {chosen && (
        <ConfirmDialog title={`Delete ${nameOf(chosen)}?`} text={props.lossOf(chosen)} act={() => remove(chosen)} onClose={close} />
      )}
    </section>
  );
}

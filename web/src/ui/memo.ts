// A component that is rendered again only when one of its properties is another value.
import { Component, h } from "preact";
import type { ComponentChildren, FunctionComponent } from "preact";

export function memo<P extends object>(view: (props: P) => ComponentChildren, same?: (a: P, b: P) => boolean): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as P;
      if (same) return !same(before, next as P);
      const names = new Set([...Object.keys(before), ...Object.keys(next)]);
      for (const name of names) {
        if ((before as Record<string, unknown>)[name] !== (next as Record<string, unknown>)[name]) return true;
      }
      return false;
    }
    override render(props: P): ComponentChildren {
      return h(view as FunctionComponent<P>, props as P & { children?: ComponentChildren });
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}

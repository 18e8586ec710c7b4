// Where files that are dropped on the page belong; null: to the message that is being written.
import { Cell } from "../core/cell.ts";

export interface Dropping {
  invitation: string;
  take: (files: File[]) => void;
}

export const dropping = new Cell<Dropping | null>(null);

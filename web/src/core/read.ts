// What another program wrote, read by its type: what is not of the type is not there.
export type Loose = Record<string, unknown>;

export const isObject = (value: unknown): value is Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
export const finite = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

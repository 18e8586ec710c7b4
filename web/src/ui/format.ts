// Numbers, sizes and times as they are shown.
export const count = (value: number): string => value.toLocaleString("en");

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const power = value < 999_500 ? 1 : value < 999_500_000 ? 2 : 3;
  const scaled = value / 1000 ** power;
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${["kB", "MB", "GB"][power - 1]}`;
}

export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

// A length of time without fractions of its unit where it has none.
export function length(ms: number): string {
  const [unit, name]: [number, string] = ms < 60_000 ? [1000, "s"] : ms < 3_600_000 ? [60_000, "min"] : ms < 48 * 3_600_000 ? [3_600_000, "h"] : [86_400_000, "d"];
  return `${Number((ms / unit).toFixed(1))} ${name}`;
}

const two = (value: number): string => String(value).padStart(2, "0");

// "2026-01-31 14:05", in the browser's time zone; with seconds where entries may be near each other.
export function time(ms: number, withSeconds = false): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "–";
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}${withSeconds ? `:${two(at.getSeconds())}` : ""}`;
}

export const several = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`;

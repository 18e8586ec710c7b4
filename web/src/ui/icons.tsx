// Strokes on a 24-pixel grid.
const kPaths = {
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h10",
  sliders: "M4 8h9m5 0h2M4 16h3m5 0h8M15.5 5.5v5M9.5 13.5v5",
  send: "M12 19V5m0 0-6 6m6-6 6 6",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "m5 12.5 4.5 4.5L19 7.5",
  redo: "M19 12a7 7 0 1 1-2-4.9M19 4v4h-4",
  pencil: "m5 19 .8-3.6L16 5.2a1.8 1.8 0 0 1 2.6 2.6L8.6 18.2z",
  trash: "M5 7h14M10 7V5h4v2m-7 0 .8 12h8.4L17 7",
  left: "m14 6-6 6 6 6",
  right: "m10 6 6 6-6 6",
  down: "m6 10 6 6 6-6",
  clip: "m19 11.5-7.2 7a4.2 4.2 0 0 1-6-6l7.4-7.2a2.8 2.8 0 0 1 4 4L9.900 16.400a1.4 1.4 0 0 1-2-2l6.500-6.300",
  close: "m6 6 12 12M18 6 6 18",
  book: "M5 5.500A1.500 1.500 0 0 1 6.500 4H19v14H6.500A1.500 1.500 0 0 0 5 19.500zM5 19.500A1.500 1.500 0 0 0 6.500 21H19v-3M9 8h6",
  seal: "M12 3.500 5.500 6v5.500c0 4.200 2.700 7.300 6.500 9 3.800-1.700 6.500-4.800 6.500-9V6zM9 11.800l2.200 2.200 4-4.200",
  save: "M12 4v11m0 0-4.500-4.500M12 15l4.500-4.500M5 19.500h14",
  chart: "M4 19h16M7 15v-4m5 4V6m5 9v-6",
  chat: "M5 6h14v10h-8l-4 3.500V16H5z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100",
  moon: "M19.500 14.500A8 8 0 0 1 9.500 4.500a8 8 0 1 0 10 10z",
  screen: "M4 5h16v11H4zM9 20h6M12 16v4",
  search: "M10.500 4.500a6 6 0 1 1 0 12 6 6 0 0 1 0-12zM15 15l5 5",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  file: "M7 4h7l4 4v12H7zM14 4v4h4",
  tool: "M14.500 6.500a4 4 0 0 0-5 5L4.500 16.500l3 3 5-5a4 4 0 0 0 5-5l-2.500 2.500-2.500-2.500z",
  help: "M9 9.500a3 3 0 1 1 4.300 2.700c-.9.500-1.300 1-1.300 2M12 17.500h.01",
};
export type IconName = keyof typeof kPaths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={kPaths[name]} />
    </svg>
  );
}

export function IconButton(props: {
  name: IconName;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  class?: string;
}) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.name} />
    </button>
  );
}

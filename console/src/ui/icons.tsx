import type { JSX } from 'preact';

/** The product's sign. */
export function Shield(): JSX.Element {
  return (
    <svg class="shield" viewBox="0 0 32 32" aria-hidden="true">
      <path class="shield-body" d="M16 2 4 6.500v9C4 23 9 28.500 16 30.500 23 28.500 28 23 28 15.500v-9z" />
      <path class="shield-tick" d="m10.500 16 4 4 7.500-8" />
    </svg>
  );
}

const PATHS = {
  overview: 'M4 4h7v9H4zm9 0h7v5h-7zM4 15h7v5H4zm9-4h7v9h-7z',
  inbox: 'M3 13h5l2 3h4l2-3h5M5 5h14l2 8v6H3v-6z',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  explain: 'M9 9a3 3 0 1 1 4 3c-1 .500-1 1-1 2m0 3v.500M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18z',
  policies: 'M6 3h9l4 4v14H6zM9 10h7M9 14h7M9 18h4',
  agents: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 9c0-4 3-6 7-6s7 2 7 6M16 4a4 4 0 0 1 0 7m2 3c2.500.500 4 2.500 4 6',
  proof: 'M12 3v5m0 0-6 4m6-4 6 4M6 12v4m12-4v4M4 16h4v4H4zm12 0h4v4h-4z',
  grants: 'M4 12a4 4 0 1 0 8 0 4 4 0 0 0-8 0zm8 0h9v4m-4-4v3',
  access: 'M5 11h14v9H5zM8 11V8a4 4 0 0 1 8 0v3m-4 4v2',
  entities: 'M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9',
  webhooks: 'M4 12h11m-4-4 4 4-4 4M14 4h6v16h-6',
  health: 'M4 20V10m5 10V4m6 16v-7m5 7V8',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

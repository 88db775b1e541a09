import type { ComponentChildren, JSX } from 'preact';
import { explain } from '../api/fault.js';
import type { LoadState } from '../api/load.js';
import { words } from './format.js';

type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'info' | 'grave';

/** Maps values to the tones of their badges. A badge always has a text as well, never only a colour. */
const TONES: Readonly<Record<string, Tone>> = {
  low: 'plain',
  medium: 'info',
  high: 'warn',
  critical: 'grave',
  proposed: 'info',
  pending_approval: 'info',
  approved: 'good',
  approve: 'good',
  authorized: 'good',
  executed: 'good',
  allow: 'good',
  active: 'good',
  success: 'good',
  running: 'info',
  rejected: 'bad',
  reject: 'bad',
  denied: 'bad',
  deny: 'bad',
  failed: 'bad',
  failure: 'bad',
  failing: 'bad',
  revoked: 'bad',
  suspended: 'warn',
  require_approval: 'warn',
  expired: 'plain',
  cancelled: 'plain',
  interrupted: 'warn',
};

export function Badge({ value, text = words(value) }: { readonly value: string; readonly text?: string }): JSX.Element {
  return <span class={`badge ${TONES[value] ?? 'plain'}`}>{text}</span>;
}

interface PanelProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The content next to the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
}

export function Panel({ title, children, aside, class: name = '' }: PanelProps): JSX.Element {
  return (
    <section class={`panel ${name}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** An error, and what to do about it. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): JSX.Element {
  const { message, advice } = explain(error);
  return (
    <div class="notice bad" role="alert">
      <strong>{message}</strong>
      <p>{advice}</p>
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Names the scope that would be needed to see more. */
export function Needs({ scope, label }: { readonly scope: string; readonly label: string }): JSX.Element {
  return (
    <p class="notice needs">
      {label} needs <code>{scope}</code>, which your key does not have.
    </p>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

interface WhenProps<Data> {
  readonly load: LoadState<Data>;
  readonly children: (data: Data) => ComponentChildren;
  /** The name of the data that is loading. */
  readonly label: string;
}

/** Shows the loaded data, the error, or a note that the data is loading. */
export function When<Data>({ load: { data, error, loading, reload }, children, label }: WhenProps<Data>): JSX.Element {
  // Loaded data may be null.
  const isLoaded = data !== null || (!loading && error === null);
  return (
    <>
      {error === null ? null : <Problem error={error} retry={reload} />}
      {isLoaded ? children(data as Data) : error === null ? <p class="loading">Loading {label} …</p> : null}
    </>
  );
}

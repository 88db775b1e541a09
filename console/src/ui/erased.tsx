import type { JSX } from 'preact';

/** In place of what a record contained. */
export function ErasedNotice(): JSX.Element {
  return (
    <p class="notice">
      <strong>Contents erased.</strong> What it said is gone for good. Who did what when stays, and so does every proof.
    </p>
  );
}

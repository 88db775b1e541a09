import type { JSX } from 'preact';

/** Stands in place of the erased content of a record. */
export function ErasedNotice(): JSX.Element {
  return (
    <p class="notice">
      <strong>Contents erased.</strong> What it said is gone for good. Who did what when stays, and so does every proof.
    </p>
  );
}

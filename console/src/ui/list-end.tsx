import type { JSX } from 'preact';
import { numberText } from './format.js';

/** Rows that are shown at first, and with each "Show more". */
export const PAGE = 50;
/** The most rows that the API lists at once. */
const MAX_LIMIT = 1_000;

interface ListEndProps {
  readonly count: number;
  readonly total: number;
  /** The total in words. */
  readonly text: string;
  readonly limit: number;
  readonly setLimit: (limit: number) => void;
}

/** The end of a list: the total, and a button that shows more. */
export function ListEnd({ count, total, text, limit, setLimit }: ListEndProps): JSX.Element {
  return (
    <>
      <p class="quiet total">{text}</p>
      {count < total && limit < MAX_LIMIT ? (
        <button type="button" class="more" onClick={() => setLimit(limit + PAGE)}>
          Show more
        </button>
      ) : count < total ? (
        <p class="quiet total">The first {numberText(count)} are shown. The API lists all.</p>
      ) : null}
    </>
  );
}

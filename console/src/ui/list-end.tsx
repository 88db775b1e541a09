import type { JSX } from 'preact';
import { numberText } from './format.js';

/** Number of rows that are shown at first, and added by each "Show more". */
export const PAGE = 50;
/** Maximum number of rows that the API lists at once. */
const MAX_LIMIT = 1_000;

interface ListEndProps {
  readonly count: number;
  readonly total: number;
  /** The total, as a text. */
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

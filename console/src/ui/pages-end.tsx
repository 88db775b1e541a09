import type { JSX } from 'preact';
import type { Pages } from '../api/pages.js';
import { Problem } from './parts.js';

interface PagesEndProps {
  readonly pages: Pages<unknown>;
  /** The total, as a text. */
  readonly text?: string;
  /** The text of the button. */
  readonly more?: string;
}

/** The end of a list that is loaded a page at a time. */
export function PagesEnd({ pages: { problem, more }, text, more: label = 'Show more' }: PagesEndProps): JSX.Element {
  return (
    <>
      {text === undefined ? null : <p class="quiet total">{text}</p>}
      {problem === null ? null : <Problem error={problem} />}
      {more === null ? null : (
        <button type="button" class="more" onClick={() => void more()}>
          {label}
        </button>
      )}
    </>
  );
}

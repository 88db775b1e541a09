import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { countText, revealedJson } from './format.js';
import { useHidden } from './hidden.js';

/** More lines or characters than this are folded at first; nothing is ever cut. */
const MAX_LINES = 48;
const MAX_CHARACTERS = 2_400;

/** Characters that cannot be seen are escaped, which means the same in JSON. */
export function jsonText(value: unknown, indent = 2): string {
  return revealedJson(JSON.stringify(value, null, indent));
}

/** True if a value is shown folded at first. */
function isLarge(text: string): boolean {
  return text.length > MAX_CHARACTERS || text.split('\n').length > MAX_LINES;
}

interface JsonProps {
  readonly value: unknown;
  readonly label: string;
}

/** A JSON value as a whole. */
export function Json({ value, label }: JsonProps): JSX.Element {
  const text = jsonText(value);
  const [open, setOpen] = useState(!isLarge(text));
  const lines = text.split('\n');
  useHidden(open ? null : label);
  return (
    <div class="json">
      <pre tabIndex={0} role="region" aria-label={label}>
        {open ? text : lines.slice(0, 8).join('\n').slice(0, 400)}
      </pre>
      {open ? null : (
        <button type="button" class="unfold" onClick={() => setOpen(true)}>
          Show all of it: {countText(lines.length, 'line')}, {countText(text.length, 'character')}
        </button>
      )}
    </div>
  );
}

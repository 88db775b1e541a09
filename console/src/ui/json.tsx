import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from './format.js';

/** More lines or characters than this are folded at first; nothing is ever cut. */
const MOST_LINES = 48;
const MOST_CHARACTERS = 2_400;

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Whether a value is shown folded at first. */
export function isLarge(value: unknown): boolean {
  const text = jsonText(value);
  return text.length > MOST_CHARACTERS || text.split('\n').length > MOST_LINES;
}

interface JsonProps {
  readonly value: unknown;
  readonly label: string;
  /** Called when a large value is unfolded. */
  readonly onOpen?: () => void;
}

/** A JSON value as a whole. */
export function Json({ value, label, onOpen }: JsonProps): JSX.Element {
  const [open, setOpen] = useState(!isLarge(value));
  const text = jsonText(value);
  const lines = text.split('\n');
  const unfold = (): void => {
    setOpen(true);
    onOpen?.();
  };
  return (
    <div class="json">
      <pre tabIndex={0} role="region" aria-label={label}>
        {open ? text : lines.slice(0, 8).join('\n').slice(0, 400)}
      </pre>
      {open ? null : (
        <button type="button" class="unfold" onClick={unfold}>
          Show all of it: {counted(lines.length, 'line')}, {counted(text.length, 'character')}
        </button>
      )}
    </div>
  );
}

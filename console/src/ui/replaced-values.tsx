import type { JSX } from 'preact';
import { countText, showInvisible } from './format.js';
import { replacedValues } from './replaced.js';

const MAX_LISTED = 20;

/** Lists the parts of arguments or of a result that cannot be shown. */
export function ReplacedValues({ value }: { readonly value: unknown }): JSX.Element | null {
  const { secrets, texts } = replacedValues(value);
  if (secrets.length + texts.length === 0) return null;
  return (
    <>
      {secrets.length === 0 ? null : (
        <p class="notice">
          Secret, and not kept: {listText(secrets.map(showInvisible))}. Only the agent knows what is there.
        </p>
      )}
      {texts.length === 0 ? null : (
        <p class="notice">
          Not shown, as it is large:{' '}
          {listText(texts.map(([pointer, bytes]) => `${showInvisible(pointer)} (${sizeText(bytes)})`))}. An approval
          covers exactly this text, which you have not seen.
        </p>
      )}
    </>
  );
}

function listText(parts: readonly string[]): string {
  const rest = parts.length - MAX_LISTED;
  return `${parts.slice(0, MAX_LISTED).join(', ')}${rest > 0 ? `, and ${countText(rest, 'other')}` : ''}`;
}

function sizeText(bytes: unknown): string {
  return typeof bytes === 'number' ? countText(bytes, 'byte') : 'of unknown size';
}

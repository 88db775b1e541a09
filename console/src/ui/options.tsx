import type { JSX } from 'preact';

/** The options of a selection: value and text of each. */
export function Options({
  choices,
}: {
  readonly choices: readonly (readonly [value: string, text: string])[];
}): JSX.Element {
  return (
    <>
      {choices.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </>
  );
}

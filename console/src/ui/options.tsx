import type { JSX } from 'preact';

/** What a list of choices offers: of each the value and its text. */
export function Options({
  of: choices,
}: {
  readonly of: readonly (readonly [value: string, text: string])[];
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

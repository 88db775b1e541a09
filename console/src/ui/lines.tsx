import type { JSX, TextareaHTMLAttributes } from 'preact';

interface LinesProps extends Pick<
  TextareaHTMLAttributes,
  'name' | 'rows' | 'defaultValue' | 'placeholder' | 'onInput'
> {
  readonly title: string;
}

/** A field for several texts, which may have spaces in them. */
export function Lines({ title, ...field }: LinesProps): JSX.Element {
  return (
    <label>
      {title} <small>(one on each line)</small>
      <textarea rows={3} {...field} />
    </label>
  );
}

/** The texts in such a field, each once. */
export function linesIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

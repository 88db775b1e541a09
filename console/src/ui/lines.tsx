import type { JSX, TextareaHTMLAttributes } from 'preact';

interface LinesProps extends Pick<
  TextareaHTMLAttributes,
  'name' | 'rows' | 'defaultValue' | 'placeholder' | 'onInput'
> {
  readonly title: string;
}

/** A field for several texts, one on each line, which may contain spaces. */
export function Lines({ title, ...field }: LinesProps): JSX.Element {
  return (
    <label>
      {title} <small>(one on each line)</small>
      <textarea rows={3} {...field} />
    </label>
  );
}

/** Returns the texts of such a field, each once. */
export function linesIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

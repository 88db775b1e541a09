import type { ComponentChildren, JSX } from 'preact';
import { durationText, numberText } from '../../ui/format.js';

/** Maximum number of rows that a table shows. */
const MAX_ROWS = 400;

interface Row {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly numbers: readonly (number | ComponentChildren)[];
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Draws each row's first number as a bar: the table is a chart, too. */
  readonly bars?: boolean;
}

export function Table({ label, columns, rows, bars = false }: TableProps): JSX.Element {
  const firstOf = ({ numbers: [first] }: Row): number => (typeof first === 'number' ? first : 0);
  const most = Math.max(1, ...rows.map(firstOf));
  return (
    // The keyboard can scroll a table that does not fit.
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr key={row.key}>
              <th scope="row">
                {row.name}
                {bars ? (
                  <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="bar" width={(firstOf(row) / most) * 100} height="4" />
                  </svg>
                ) : null}
              </th>
              {row.numbers.map((value, index) => (
                <td key={index}>{typeof value === 'number' ? numberText(value) : value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS ? <p class="quiet">And {numberText(rows.length - MAX_ROWS)} more.</p> : null}
    </div>
  );
}

/** Describes a duration that is an upper bound, so at least a tenth of a second. */
export function secondsText(seconds: number): string {
  return seconds < 60 ? `${numberText(Math.max(Math.round(seconds * 10) / 10, 0.1))} s` : durationText(seconds * 1_000);
}

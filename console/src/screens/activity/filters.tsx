import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import type { AuditEntry } from '../../api/types.js';
import { useNames } from '../../api/names.js';
import { Options } from '../../ui/options.js';
import { SENTENCES } from './sentences.js';

/** As the interface has them. */
export interface ActivityFilter {
  readonly action?: string;
  readonly agentId?: string;
  readonly outcome?: AuditEntry['outcome'];
  readonly from?: string;
  readonly to?: string;
}

export const NO_FILTER: ActivityFilter = {};

const OUTCOMES: readonly AuditEntry['outcome'][] = ['success', 'denied', 'failed'];

/** Whether an entry that just came belongs to what is shown. */
export function matches(entry: AuditEntry, { action, agentId, outcome, to }: ActivityFilter): boolean {
  return (
    (action === undefined || entry.action === action) &&
    (agentId === undefined || entry.agentId === agentId) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (to === undefined || entry.timestamp <= to)
  );
}

interface FiltersProps {
  readonly filter: ActivityFilter;
  readonly onChange: (filter: ActivityFilter) => void;
}

export function Filters({ filter, onChange }: FiltersProps): JSX.Element {
  const { names } = useSession();
  useNames();
  const change = (name: keyof ActivityFilter, value: string): void => {
    const others = Object.entries(filter).filter(([known]) => known !== name);
    onChange(Object.fromEntries(value === '' ? others : [...others, [name, value]]));
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <label>
        What
        <select value={filter.action ?? ''} onChange={(event) => change('action', event.currentTarget.value)}>
          <option value="">Everything</option>
          <Options of={Object.entries(SENTENCES)} />
        </select>
      </label>
      <label>
        Agent
        <select value={filter.agentId ?? ''} onChange={(event) => change('agentId', event.currentTarget.value)}>
          <option value="">Everybody</option>
          <Options of={names.all().map(({ id, name }) => [id, name])} />
        </select>
      </label>
      <label>
        Outcome
        <select value={filter.outcome ?? ''} onChange={(event) => change('outcome', event.currentTarget.value)}>
          <option value="">Any</option>
          <Options of={OUTCOMES.map((outcome) => [outcome, outcome])} />
        </select>
      </label>
      <label>
        From
        <input type="datetime-local" onChange={(event) => change('from', isoOf(event.currentTarget.value))} />
      </label>
      <label>
        To
        <input type="datetime-local" onChange={(event) => change('to', isoOf(event.currentTarget.value))} />
      </label>
    </form>
  );
}

function isoOf(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}

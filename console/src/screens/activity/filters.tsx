import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { serviceNow } from '../../api/clock.js';
import type { AuditEntry } from '../../api/types.js';
import { AgentField } from '../../ui/agent-field.js';
import { Options } from '../../ui/options.js';
import { PERIODS } from '../../ui/periods.js';
import { SENTENCES } from './sentences.js';

/** The names of the parameters of the API. */
export interface ActivityFilter {
  readonly action?: string;
  /** An id or a name. */
  readonly agentId?: string;
  readonly outcome?: AuditEntry['outcome'];
  readonly entityId?: string;
  readonly from?: string;
  readonly to?: string;
}

const NAMES: readonly (keyof ActivityFilter)[] = ['action', 'agentId', 'outcome', 'from', 'to'];

/** The filter that a link names. */
export function filterIn(query: URLSearchParams): ActivityFilter {
  return Object.fromEntries(NAMES.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : [])));
}

const OUTCOMES: readonly AuditEntry['outcome'][] = ['success', 'denied', 'failed'];

/**
 * True if a new entry matches the filters.
 * @param agentId id of the agent in the filter; null if it is unknown.
 */
export function matches(entry: AuditEntry, filter: ActivityFilter, agentId: string | null): boolean {
  const { action, outcome, from, to } = filter;
  return (
    (action === undefined || entry.action === action) &&
    (filter.agentId === undefined || (agentId !== null && entry.agentId === agentId)) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (filter.entityId === undefined || entry.entityId === filter.entityId) &&
    (from === undefined || entry.timestamp >= from) &&
    (to === undefined || entry.timestamp <= to)
  );
}

/** Milliseconds of the periods that end now. */
const LENGTHS = { '24h': 86_400_000, '30d': 30 * 86_400_000 } as const;

interface FiltersProps {
  readonly filter: ActivityFilter;
  readonly onChange: (filter: ActivityFilter) => void;
}

export function Filters({ filter, onChange }: FiltersProps): JSX.Element {
  const isLimited = filter.from !== undefined || filter.to !== undefined;
  const [period, setPeriod] = useState<string>(isLimited ? 'own' : '');
  const change = (changes: { readonly [Name in keyof ActivityFilter]: string }): void =>
    onChange(Object.fromEntries(Object.entries({ ...filter, ...changes }).filter(([, value]) => value !== '')));
  const choose = (chosen: string): void => {
    setPeriod(chosen);
    if (chosen === '24h' || chosen === '30d')
      change({ from: new Date(serviceNow() - LENGTHS[chosen]).toISOString(), to: '' });
    else if (chosen === '') change({ from: '', to: '' });
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <label>
        What
        <select value={filter.action ?? ''} onChange={(event) => change({ action: event.currentTarget.value })}>
          <option value="">Everything</option>
          <Options choices={Object.entries(SENTENCES)} />
        </select>
      </label>
      <AgentField
        label="Agent"
        placeholder="Everybody"
        defaultValue={filter.agentId ?? ''}
        onChange={(agentId) => change({ agentId })}
      />
      <label>
        Outcome
        <select value={filter.outcome ?? ''} onChange={(event) => change({ outcome: event.currentTarget.value })}>
          <option value="">Any</option>
          <Options choices={OUTCOMES.map((outcome) => [outcome, outcome])} />
        </select>
      </label>
      <label>
        Period
        <select value={period} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">Any time</option>
          <Options choices={PERIODS} />
        </select>
      </label>
      {period === 'own'
        ? (['from', 'to'] as const).map((end) => (
            <label key={end} class="moment">
              {end === 'from' ? 'From' : 'To'}
              <input
                type="datetime-local"
                defaultValue={localOf(filter[end])}
                onChange={(event) => change({ [end]: isoOf(event.currentTarget.value) })}
              />
            </label>
          ))
        : null}
    </form>
  );
}

/** Returns a local time as ISO 8601. A text that is no time stays as it is, so that the service reports it. */
function isoOf(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? local : date.toISOString();
}

/** Returns a time as the field takes it, in the reader's time zone. */
function localOf(iso: string | undefined): string {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}

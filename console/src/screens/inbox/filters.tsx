import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Decision, Execution } from '../../api/types.js';
import { AgentField } from '../../ui/agent-field.js';
import { showInvisible } from '../../ui/format.js';
import { Options } from '../../ui/options.js';

/** Selects what the inbox shows; an empty text stands for everything. Texts match in any case, as they are typed. */
export interface InboxFilter {
  /** A part of the title, the parameters or the run. */
  readonly text: string;
  /** An id, or a part of a name. */
  readonly agent: string;
  /** A part of the action. */
  readonly action: string;
  readonly risk: string;
}

export const EVERYTHING: InboxFilter = { text: '', agent: '', action: '', risk: '' };

const RISKS = ['low', 'medium', 'high', 'critical'] as const;

export function isFiltered(filter: InboxFilter): boolean {
  return Object.values(filter).some((value) => value !== '');
}

/** @param name of the requesting agent, with invisible characters shown. */
export function matches(
  { text, agent, action, risk }: InboxFilter,
  decision: Decision,
  execution: Execution | undefined,
  name: string,
): boolean {
  const searchedText = `${decision.title} ${JSON.stringify(execution?.parameters ?? decision.context)} ${decision.run ?? ''}`;
  return (
    isPart(text, searchedText) &&
    (agent === decision.proposedBy || isPart(showInvisible(agent), name)) &&
    isPart(action, execution?.action ?? decision.type) &&
    ['', decision.riskLevel].includes(risk)
  );
}

function isPart(part: string, whole: string): boolean {
  return whole.toLowerCase().includes(part.toLowerCase());
}

interface FiltersProps {
  readonly filter: InboxFilter;
  /** The types of the loaded decisions. */
  readonly actions: readonly string[];
  readonly onChange: (filter: InboxFilter) => void;
}

export function Filters({ filter, actions, onChange }: FiltersProps): JSX.Element {
  const list = useId();
  const change = (name: keyof InboxFilter, value: string): void => onChange({ ...filter, [name]: value });
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <label>
        Search
        <input
          type="search"
          placeholder="Any text"
          value={filter.text}
          onInput={(event) => change('text', event.currentTarget.value.trim())}
        />
      </label>
      <AgentField
        label="Agent"
        placeholder="Everybody"
        defaultValue={filter.agent}
        onInput={(agent) => change('agent', agent)}
      />
      <label>
        Action
        <input
          list={list}
          autocomplete="off"
          placeholder="Any"
          defaultValue={filter.action}
          onInput={(event) => change('action', event.currentTarget.value.trim())}
        />
        <datalist id={list}>
          <Options choices={actions.map((action) => [action, showInvisible(action)])} />
        </datalist>
      </label>
      <label>
        Risk
        <select value={filter.risk} onChange={(event) => change('risk', event.currentTarget.value)}>
          <option value="">Any</option>
          <Options choices={RISKS.map((risk) => [risk, risk])} />
        </select>
      </label>
    </form>
  );
}

import type { JSX } from 'preact';
import { useLoad } from '../api/load.js';
import { useSession } from '../api/session.js';
import { showInvisible } from './format.js';
import { Options } from './options.js';

/** Maximum number of agents that are loaded to find the teams. */
const MOST = 1_000;

interface TeamChoiceProps {
  /** The selected team; empty for all teams and for agents without one. */
  readonly team: string;
  readonly onChange: (team: string) => void;
}

/** A choice of the teams that agents are in; nothing where there are no teams. */
export function TeamChoice({ team, onChange }: TeamChoiceProps): JSX.Element | null {
  const { client } = useSession();
  const agents = useLoad(
    (signal) => client.get('/api/v1/agents', { query: { limit: MOST, kind: 'machine' }, signal }),
    [client],
  );
  const teams = [...new Set(agents.data?.data.flatMap((agent) => agent.team ?? []))].sort();
  if (teams.length === 0) return null;
  return (
    <label class="inline">
      Team{' '}
      <select value={team} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All</option>
        <Options choices={teams.map((name) => [name, showInvisible(name)])} />
      </select>
    </label>
  );
}

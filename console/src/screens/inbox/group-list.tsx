import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Decision } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Badge } from '../../ui/parts.js';
import { TimeLeft } from '../../ui/time.js';
import { type Executions, type Group, groupsOf, highestRisk } from './groups.js';
import { Rows } from './rows.js';
import { SelectBox, type Selection } from './selection.js';

/** Groups are folded at first if there are more decisions than this. */
const MAX_UNFOLDED = 20;

interface GroupsProps {
  readonly decisions: readonly Decision[];
  readonly executions: Executions;
  readonly selection: Selection;
  /** True if groups are unfolded however many decisions there are. */
  readonly areOpen: boolean;
}

/** Decisions by agent and action; after the groups of several, the single ones. */
export function Groups({ decisions, executions, selection, areOpen }: GroupsProps): JSX.Element {
  const groups = groupsOf(decisions, executions);
  const several = groups.filter((group) => group.decisions.length > 1);
  const single = groups.filter((group) => group.decisions.length === 1).flatMap((group) => group.decisions);
  const isOpenAtFirst = areOpen || decisions.length <= MAX_UNFOLDED;
  return (
    <div class="groups-list">
      {several.map((group) => (
        <GroupView key={group.key} {...{ group, executions, selection, isOpenAtFirst }} />
      ))}
      {single.length === 0 && several.length > 0 ? null : (
        <Rows decisions={single} executions={executions} selection={selection} />
      )}
    </div>
  );
}

interface GroupViewProps {
  readonly group: Group;
  readonly executions: Executions;
  readonly selection: Selection;
  readonly isOpenAtFirst: boolean;
}

function GroupView({ group, executions, selection, isOpenAtFirst }: GroupViewProps): JSX.Element {
  const nameOf = useNames();
  const [isOpen] = useState(isOpenAtFirst);
  const { proposedBy, action, decisions } = group;
  const agent = nameOf(proposedBy);
  const risk = highestRisk(decisions);
  const [firstEnd] = decisions.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
  return (
    <div class="pick">
      <SelectBox
        decisions={decisions}
        selection={selection}
        label={`Select all of ${agent}: ${showInvisible(action)}`}
      />
      <details open={isOpen}>
        <summary class="facts">
          <h3>
            <bdi>{agent}</bdi>: <bdi class="exact">{showInvisible(action)}</bdi>
          </h3>
          <span>{countText(decisions.length, 'request')}</span>
          <Badge value={risk} text={`${risk} risk`} />
          {firstEnd === undefined ? null : <TimeLeft until={firstEnd} />}
        </summary>
        <Rows decisions={decisions} executions={executions} selection={selection} />
      </details>
    </div>
  );
}

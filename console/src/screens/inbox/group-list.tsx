import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Decision } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Badge } from '../../ui/parts.js';
import { TimeLeft } from '../../ui/time.js';
import { type Executions, type Group, groupsOf, highestRisk } from './groups.js';
import { placeText } from './needs.js';
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

/** Shows decisions by agent and action; single decisions that follow each other share a list. */
export function Groups({ decisions, executions, selection, areOpen }: GroupsProps): JSX.Element {
  const isOpenAtFirst = areOpen || decisions.length <= MAX_UNFOLDED;
  if (decisions.length === 0) return <Rows {...{ decisions, executions, selection }} />;
  return (
    <div class="groups-list">
      {sectionsOf(groupsOf(decisions, executions)).map((section) =>
        'key' in section ? (
          <GroupView key={section.key} {...{ group: section, executions, selection, isOpenAtFirst }} />
        ) : (
          <Rows key={section[0]?.id} decisions={section} executions={executions} selection={selection} />
        ),
      )}
    </div>
  );
}

/** Returns the groups of several decisions, and the lists of single decisions that follow each other. */
function sectionsOf(groups: readonly Group[]): readonly (Group | Decision[])[] {
  const sections: (Group | Decision[])[] = [];
  for (const group of groups) {
    const last = sections.at(-1);
    if (group.decisions.length > 1) sections.push(group);
    else if (Array.isArray(last)) last.push(...group.decisions);
    else sections.push([...group.decisions]);
  }
  return sections;
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
          {decisions.every(({ inPlaceOf }) => inPlaceOf !== undefined) ? (
            <span>{placeText([...new Set(decisions.flatMap(({ inPlaceOf = [] }) => inPlaceOf))], nameOf)}</span>
          ) : null}
        </summary>
        <Rows decisions={decisions} executions={executions} selection={selection} />
      </details>
    </div>
  );
}

import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import type { Decision, Execution } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { countText, showInvisible } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge } from '../../ui/parts.js';
import { TimeAgo, TimeLeft } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import type { Executions } from './groups.js';
import { needsText, placeText, principalText, whyNotMine } from './needs.js';
import { SelectBox, type Selection } from './selection.js';

interface RowsProps {
  readonly decisions: readonly Decision[];
  readonly executions: Executions;
  /** Puts a box before each row; null for decisions that do not wait for the person. */
  readonly selection: Selection | null;
}

export function Rows({ decisions, executions, selection }: RowsProps): JSX.Element {
  if (decisions.length === 0) return <p class="quiet">Nothing here matches.</p>;
  return (
    <ul class="rows">
      {decisions.map((decision) => (
        <Row key={decision.id} {...{ decision, selection }} execution={executions.get(decision.id)} />
      ))}
    </ul>
  );
}

interface RowProps {
  readonly decision: Decision;
  readonly execution: Execution | undefined;
  readonly selection: Selection | null;
}

/** Maximum number of characters of parameters in a row. */
const MAX_PARAMETERS_LENGTH = 200;

function parametersText({ parameters }: Execution): string {
  const text = jsonText(parameters, 0);
  return text.length > MAX_PARAMETERS_LENGTH ? `${text.slice(0, MAX_PARAMETERS_LENGTH)}… (open it to see all)` : text;
}

function Row({ decision, execution, selection }: RowProps): JSX.Element {
  const { me } = useSession();
  const nameOf = useNames();
  const { id, title, proposedBy, riskLevel, createdAt, expiresAt, reviews, executionId, onBehalfOf, run, inPlaceOf } =
    decision;
  const agent = nameOf(proposedBy);
  const titleText = showInvisible(title);
  const short = titleText.startsWith(`${agent}: `) ? titleText.slice(agent.length + 2) : titleText;
  return (
    <li class={selection === null ? undefined : 'pick'}>
      {selection === null ? null : (
        <SelectBox decisions={[decision]} selection={selection} label={`Select ${titleText}`} />
      )}
      <Link to={`decisions/${id}`} class="row">
        <Badge value={riskLevel} text={`${riskLevel} risk`} />
        <span class="row-what">
          <strong>
            <bdi class={executionId === null ? undefined : 'exact'}>
              <WithNames text={short} />
            </bdi>
          </strong>
          {execution === undefined ? null : <code>{parametersText(execution)}</code>}
          <span class="row-who">
            requested by <bdi>{agent}</bdi> <TimeAgo iso={createdAt} />
            {onBehalfOf ? ` on behalf of ${principalText(onBehalfOf, nameOf)}` : ''}
            {run ? ` in the run ${showInvisible(run)}` : ''}
          </span>
        </span>
        <span class="row-state">
          <span>{needsText(decision)}</span>
          <span class="row-who">
            {selection === null
              ? whyNotMine(decision, me)
              : `you can approve it${inPlaceOf === undefined ? '' : ` ${placeText(inPlaceOf, nameOf)}`}`}
            {reviews.length === 0 ? '' : ` · ${countText(reviews.length, 'review')}`}
            {expiresAt === null ? null : (
              <>
                {' · '}
                <TimeLeft until={expiresAt} />
              </>
            )}
          </span>
        </span>
      </Link>
    </li>
  );
}

import type { JSX } from 'preact';
import { useNames } from '../../api/use-names.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Plan } from '../../api/types.js';
import { countText, showInvisible, words } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';

type ReplayResult = NonNullable<Plan['replay']>;

/** Number of changed requests that are shown. */
const SHOWN = 10;

/** Shows how a set of policies would have answered past requests. */
export function Replay({
  replay: { executions, changed, cut, examples },
}: {
  readonly replay: ReplayResult;
}): JSX.Element {
  const requestsText = `${countText(executions, 'request')} on record`;
  return (
    <>
      <h3>What it would have changed in the past</h3>
      {executions === 0 ? (
        <p class="notice">There are no requests yet.</p>
      ) : changed === 0 ? (
        <p class="notice">Each of {requestsText} would get the same answer.</p>
      ) : (
        <>
          <p>
            {countText(changed, 'request')} of {requestsText} would get a different answer
            {changed > SHOWN ? `. The newest ${SHOWN}` : ''}:
          </p>
          <ul class="effects">
            {examples.slice(0, SHOWN).map((example) => (
              <Example key={example.executionId} example={example} />
            ))}
          </ul>
        </>
      )}
      {cut ? <p class="notice warn">Older requests were not tried.</p> : null}
    </>
  );
}

function Example({
  example: { executionId: id, was, now },
}: {
  readonly example: ReplayResult['examples'][number];
}): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const { data } = useLoad(
    (signal) => client.get('/api/v1/executions/{id}', { path: { id }, query: {}, signal }),
    [client, id],
  );
  return (
    <li>
      <Badge value={was} text={words(was)} /> → <Badge value={now} text={words(now)} />
      <p>
        <Link to={`executions/${id}`}>
          {data === null
            ? id
            : `${nameOf(data.agentId)}: ${showInvisible(`${data.action} on ${data.resourceType}/${data.resourceId}`)}`}
        </Link>{' '}
        {data === null ? null : <LocalTime iso={data.createdAt} />}
      </p>
    </li>
  );
}

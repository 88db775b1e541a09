import type { JSX } from 'preact';
import type { LoadState } from '../../api/load.js';
import { countText, showInvisible } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';
import type { Past } from './case.js';

/** Shows what this agent last did to the same resource. */
export function History({ history }: { readonly history: LoadState<Past> }): JSX.Element {
  return (
    <Panel title="Other requests of this agent on this target">
      <When load={history} label="earlier executions">
        {({ executions, older }) =>
          executions.length === 0 ? (
            <p class="quiet">There are no others.</p>
          ) : (
            <>
              <ul class="history">
                {executions.map(({ id, action, outcome, createdAt, parameters }) => (
                  <li key={id}>
                    <Badge value={outcome} />{' '}
                    <Link to={`executions/${id}`} class="exact">
                      {showInvisible(action)}
                    </Link>{' '}
                    <TimeAgo iso={createdAt} />
                    <code class="excerpt">{jsonText(parameters, 0)}</code>
                  </li>
                ))}
              </ul>
              {older === 0 ? null : <p class="quiet">And {countText(older, 'older request')}.</p>}
            </>
          )
        }
      </When>
    </Panel>
  );
}

import type { JSX } from 'preact';
import type { Loaded } from '../../api/load.js';
import type { Execution } from '../../api/types.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { Ago } from '../../ui/time.js';

/** What this agent last did to the same resource. */
export function History({ history }: { readonly history: Loaded<readonly Execution[]> }): JSX.Element {
  return (
    <Panel title="What this agent did here before">
      <When of={history} what="earlier executions">
        {(executions) =>
          executions.length === 0 ? (
            <p class="quiet">Nothing: this is its first request on this resource.</p>
          ) : (
            <ul class="history">
              {executions.map(({ id, action, outcome, createdAt, parameters }) => (
                <li key={id}>
                  <Badge value={outcome} /> <strong>{action}</strong> <Ago at={createdAt} />
                  <code class="excerpt">{JSON.stringify(parameters)}</code>
                </li>
              ))}
            </ul>
          )
        }
      </When>
    </Panel>
  );
}

import type { JSX } from 'preact';
import { Json } from '../../ui/json.js';
import { Panel } from '../../ui/parts.js';
import type { Case } from './case.js';

interface ActionProps {
  readonly of: Case;
  /** What it is to be done with. */
  readonly given: unknown;
  readonly onOpen: () => void;
}

/** What will be done if it is approved, as a whole. */
export function Action({ of: { decision, execution }, given, onOpen }: ActionProps): JSX.Element {
  const isEmpty = Object.keys(Object(given) as object).length === 0;
  return (
    <Panel title={execution === null ? 'What is proposed' : 'What will be done'}>
      <dl class="pairs">
        {execution === null ? (
          <>
            <dt>Type</dt>
            <dd>{decision.type}</dd>
            {decision.description === '' ? null : (
              <>
                <dt>Description</dt>
                <dd class="text">{decision.description}</dd>
              </>
            )}
          </>
        ) : (
          <>
            <dt>Action</dt>
            <dd>
              <code>{execution.action}</code>
            </dd>
            <dt>Resource</dt>
            <dd>
              <code>
                {execution.resourceType}/{execution.resourceId}
              </code>
            </dd>
          </>
        )}
        <dt>{execution === null ? 'Context' : 'Arguments'}</dt>
        <dd>
          {isEmpty ? (
            <span class="quiet">none</span>
          ) : (
            <Json value={given} label={execution === null ? 'Context' : 'Arguments'} onOpen={onOpen} />
          )}
        </dd>
        {decision.actionHash === null ? null : (
          <>
            <dt>Fingerprint</dt>
            <dd>
              <code class="hash">{decision.actionHash}</code>
              <p class="help">An approval is good for exactly this agent, action, resource and these arguments.</p>
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

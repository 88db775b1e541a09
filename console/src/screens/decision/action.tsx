import type { JSX } from 'preact';
import { useNames } from '../../api/use-names.js';
import { showInvisible, revealedProse } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Panel } from '../../ui/parts.js';
import type { Execution } from '../../api/types.js';
import { principalText } from '../inbox/needs.js';
import type { Case } from './case.js';

interface ActionProps {
  readonly of: Case;
  /** The arguments or the context. */
  readonly given: unknown;
}

/** What would be done after the approval, in full. */
export function Action({ of: { decision, execution }, given }: ActionProps): JSX.Element {
  const nameOf = useNames();
  const forNobodyElse = execution?.onBehalfOf ? ', on behalf of nobody else,' : '';
  const isEmpty = Object.keys(Object(given) as object).length === 0;
  return (
    <Panel title={execution === null ? 'The proposal' : 'The request'}>
      <dl class="pairs">
        {execution === null ? (
          <>
            <dt>Type</dt>
            <dd class="exact">{showInvisible(decision.type)}</dd>
            {decision.description === '' ? null : (
              <>
                <dt>Description</dt>
                <dd>
                  <p class="text">{revealedProse(decision.description)}</p>
                  <p class="help">As {nameOf(decision.proposedBy)} wrote it. Nobody has checked it.</p>
                </dd>
              </>
            )}
          </>
        ) : (
          <>
            <dt>Action</dt>
            <dd>
              <code>{showInvisible(execution.action)}</code>
            </dd>
            <dt>Resource</dt>
            <dd>
              <code>{showInvisible(`${execution.resourceType}/${execution.resourceId}`)}</code>
            </dd>
            <ForWhom of={execution} />
          </>
        )}
        <dt>{execution === null ? 'Context' : 'Arguments'}</dt>
        <dd>
          {isEmpty ? (
            <span class="quiet">none</span>
          ) : (
            <Json value={given} label={execution === null ? 'Context' : 'Arguments'} />
          )}
        </dd>
        {decision.actionHash === null ? null : (
          <>
            <dt>Fingerprint</dt>
            <dd>
              <code class="hash">{decision.actionHash}</code>
              <p class="help">
                An approval covers only this agent, this action, this resource{forNobodyElse} and these arguments.
              </p>
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

/** On whose behalf the agent acts, and in which run. */
export function ForWhom({ of: { onBehalfOf, run } }: { readonly of: Execution }): JSX.Element {
  const nameOf = useNames();
  return (
    <>
      {onBehalfOf ? (
        <>
          <dt>On behalf of</dt>
          <dd class="exact">{principalText(onBehalfOf, nameOf)}</dd>
        </>
      ) : null}
      {run ? (
        <>
          <dt>Run</dt>
          <dd class="exact">{showInvisible(run)}</dd>
        </>
      ) : null}
    </>
  );
}

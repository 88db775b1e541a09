import type { ComponentChildren, JSX } from 'preact';
import { useNames } from '../../api/use-names.js';
import { showInvisible, revealedProse } from '../../ui/format.js';
import { ReplacedValues } from '../../ui/replaced-values.js';
import { Json } from '../../ui/json.js';
import { Panel } from '../../ui/parts.js';
import type { Execution } from '../../api/types.js';
import { principalText } from '../inbox/needs.js';
import type { Case } from './case.js';

interface ActionProps {
  readonly subject: Case;
  /** The arguments or the context. */
  readonly values: unknown;
  /** The title, where a page shows several requests, and says once what an approval covers. */
  readonly title?: string;
  /** Follows the request. */
  readonly children?: ComponentChildren;
}

/** Shows in full what would be done after the approval. */
export function Action({ subject: { decision, execution }, values, title, children }: ActionProps): JSX.Element {
  const nameOf = useNames();
  const forNobodyElse = execution?.onBehalfOf ? ', on behalf of nobody else,' : '';
  const isEmpty = Object.keys(Object(values) as object).length === 0;
  return (
    <Panel title={title ?? (execution === null ? 'The proposal' : 'The request')}>
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
            <ForWhom execution={execution} />
          </>
        )}
        <dt>{execution === null ? 'Context' : 'Arguments'}</dt>
        <dd>
          {isEmpty ? (
            <span class="quiet">none</span>
          ) : (
            <Json
              value={values}
              label={`${execution === null ? 'Context' : 'Arguments'}${title === undefined ? '' : ` of ${title}`}`}
            />
          )}
          {execution === null ? null : <ReplacedValues value={values} />}
        </dd>
        {decision.actionHash === null ? null : (
          <>
            <dt>Fingerprint</dt>
            <dd>
              <code class="hash">{decision.actionHash}</code>
              {title === undefined ? (
                <p class="help">
                  An approval covers only this agent, this action, this resource{forNobodyElse} and these arguments.
                </p>
              ) : null}
            </dd>
          </>
        )}
      </dl>
      {children}
    </Panel>
  );
}

/** Shows on whose behalf the agent acts, and in which run. */
export function ForWhom({ execution: { onBehalfOf, run } }: { readonly execution: Execution }): JSX.Element {
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

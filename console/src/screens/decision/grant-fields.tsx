import type { JSX } from 'preact';
import { parseDuration } from '../../../../src/core/values/duration.js';
import { useNames } from '../../api/use-names.js';
import type { Decision, Review } from '../../api/types.js';
import { isoDurationText } from '../../ui/format.js';
import { givenText } from '../../ui/grant-text.js';
import { Options } from '../../ui/options.js';

/** The actions that an approval is good for besides this one. */
export type GrantTerms = NonNullable<Review['grant']>;

const PRESETS = ['PT1H', 'PT8H', 'P1D', 'P7D', 'P30D'];

interface GrantFieldsProps {
  readonly decision: Decision;
  readonly terms: GrantTerms | null;
  readonly onChange: (terms: GrantTerms | null) => void;
}

/** Approving for longer than once, as far as the policies let their approvers. */
export function GrantFields({ decision: { grant, reviews }, terms, onChange }: GrantFieldsProps): JSX.Element | null {
  const nameOf = useNames();
  if (!grant) return null;
  const first = reviews.find((review) => review.grant);
  const most = parseDuration(grant.for) ?? 0;
  const shorter = PRESETS.filter((preset) => (parseDuration(preset) ?? 0) < most);
  const lengths = [...new Set([...shorter, grant.for, ...(terms === null ? [] : [terms.for])])];
  const change = (changed: Partial<GrantTerms>): void => {
    if (terms !== null) onChange({ ...terms, ...changed });
  };
  return (
    <fieldset class="form">
      <legend>How much is approved</legend>
      {first?.grant ? (
        <p>
          {first.approverId === null ? 'A key' : nameOf(first.approverId)} gave: {givenText(first.grant)}. Unless all
          give the same, it is approved this once only.{' '}
          <button type="button" onClick={() => onChange(first.grant ?? null)}>
            Give the same
          </button>
        </p>
      ) : null}
      <label>
        For how long
        <select
          value={terms?.for ?? ''}
          onChange={({ currentTarget: { value } }) =>
            onChange(value === '' ? null : { uses: null, resources: null, parameters: 'same', ...terms, for: value })
          }
        >
          <option value="">this once</option>
          <Options choices={lengths.map((length) => [length, isoDurationText(length)])} />
        </select>
      </label>
      {terms === null ? null : (
        <>
          <label>
            How often <small>(empty: {grant.uses === null ? 'any number of times' : `${grant.uses} times`})</small>
            <input
              type="number"
              min={1}
              max={grant.uses ?? 10_000}
              value={terms.uses ?? ''}
              onInput={({ currentTarget: { value } }) => change({ uses: value === '' ? null : Number(value) })}
            />
          </label>
          {grant.wider ? (
            <>
              <label>
                Resources <small>(patterns, one a line; empty: exactly this one)</small>
                <textarea
                  rows={2}
                  class="code"
                  value={terms.resources?.join('\n') ?? ''}
                  onInput={({ currentTarget: { value } }) =>
                    change({ resources: value === '' ? null : value.split('\n') })
                  }
                />
              </label>
              <label class="check">
                <input
                  type="checkbox"
                  checked={terms.parameters === 'any'}
                  onChange={({ currentTarget: { checked } }) => change({ parameters: checked ? 'any' : 'same' })}
                />{' '}
                With any parameters
              </label>
            </>
          ) : null}
        </>
      )}
    </fieldset>
  );
}

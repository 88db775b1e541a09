import type { TestApp } from '../support/application/create-test-app';
import { type Answer, send } from '../support/application/send';
import { approve, changeHeader, type ChangeStage } from './support';

/**
 * Proposes a new agent, and lets approval, rejection or cancellation, and three makings race, in turns at each of the
 * applications. Expects that it is made at most once, and only if it was approved.
 */
export async function raceForChange(
  apps: readonly [TestApp, TestApp],
  { ada, ben, cyd }: Omit<ChangeStage, 'app'>,
  round: number,
): Promise<void> {
  const [one, other] = round % 2 === 0 ? apps : ([...apps].reverse() as [TestApp, TestApp]);
  const body = { name: `raced-${round}`, capabilities: [] };
  const { body: decision } = await send(one, 'POST', '/api/v1/agents', { key: cyd.key, body });
  const make = (app: TestApp): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents', { key: cyd.key, body, ...changeHeader(decision.id) });
  const isCancelled = round % 4 < 2;
  const against = isCancelled
    ? send(other, 'POST', `/api/v1/decisions/${decision.id}/cancel`, { key: cyd.key })
    : send(other, 'POST', `/api/v1/decisions/${decision.id}/reject`, { key: ben.key, body: {} });
  const reviews = [approve(one, decision.id, ada), against];
  const makings = [make(one), make(other), make(one)];
  const [first, second, third] = await Promise.all([...makings, ...(round % 3 === 0 ? reviews.toReversed() : reviews)]);
  const last = await make(other);
  const successes = [first, second, third, last].filter((answer) => answer?.status === 201);
  const { body: settled } = await send(other, 'GET', `/api/v1/decisions/${decision.id}`);
  const isMade = settled.change.madeAt !== undefined;
  expect([round, successes.length]).toEqual([round, isMade ? 1 : 0]);
  expect([round, isMade]).toEqual([round, settled.status === 'approved']);
  const agent = await send(one, 'GET', `/api/v1/agents/raced-${round}`);
  expect([round, agent.status]).toEqual([round, isMade ? 200 : 404]);
}

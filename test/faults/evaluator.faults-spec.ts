import { expectRecomputed, expectSameAnswers, NEW_SEED } from '../evidence/random-runs';
import { ROUNDS } from './support/rounds';

const MAX_TEST_MS = 900_000;

describe(`The offline verifier's evaluator, at length (seed ${NEW_SEED})`, () => {
  it('answers as the service does', () => expectSameAnswers(1_000 * ROUNDS, 'deny', NEW_SEED), MAX_TEST_MS);

  it('decides again what was decided', () => expectRecomputed(75 * ROUNDS, NEW_SEED), MAX_TEST_MS);
});

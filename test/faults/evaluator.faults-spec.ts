import { expectRecomputed, expectSameAnswers, NEW_SEED } from '../evidence/random-runs';

const LONGEST = 900_000;

describe(`The offline verifier's evaluator, at length (seed ${NEW_SEED})`, () => {
  it('answers as the service does', () => expectSameAnswers(20_000, 'deny', NEW_SEED), LONGEST);

  it('decides again what was decided', () => expectRecomputed(1_500, NEW_SEED), LONGEST);
});

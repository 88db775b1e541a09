import { stageOf } from '../support/application/stage';
import { raceForChange } from './change-race';
import { type ChangeStage, startChanges } from './support';

const ROUNDS = Number(process.env['CHANGE_ROUNDS'] ?? 40);

describe('Whoever is first', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('approve, reject, cancel and make: a change is made at most once, and only if it was approved', async () => {
    const { app, ...people } = stage;
    for (let round = 0; round < ROUNDS; round += 1) await raceForChange([app, app], people, round);
  });
});

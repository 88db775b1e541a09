import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

describeInBrowser("The console's stops", () => {
  const stage = companyStage();
  const active = async (): Promise<unknown[]> =>
    (await send(stage.company.program, 'GET', '/api/v1/stops?status=active')).body.data;

  it('stop an agent from any screen, are shown on every other, and are lifted', async () => {
    const { program, bot, sara, finn } = stage.company;
    const other = await stage.browser.open(`${program.url}/console/policies`);
    await signIn(other, finn.key);
    const page = await stage.browser.open(`${program.url}/console/agents`);
    await signIn(page, sara.key);
    await page.getByRole('button', { name: 'Stop agents' }).click();
    const form = page.getByRole('form', { name: 'Stop agents' });
    await form.getByRole('button', { name: 'Stop everything now' }).waitFor();
    await form.getByLabel('Agent').fill('payment-bot');
    await form.getByLabel('Actions').fill('pay-* read-invoice');
    await form.getByLabel('Reason').fill('It pays twice.');
    await form.getByRole('button', { name: 'Stop them now' }).click();
    for (const each of [page, other])
      await each
        .getByRole('alert', { name: 'Stopped' })
        .filter({ hasText: /1 stop in force.*payment-bot, pay-\* and read-invoice.*It pays twice\./s })
        .waitFor();
    expect(await active()).toMatchObject([{ agentId: bot.id, actions: ['pay-*', 'read-invoice'] }]);
    await page.getByRole('button', { name: 'Lift', exact: true }).click();
    await page.getByRole('form', { name: 'Lift the stop' }).getByLabel('Reason').fill('Mended.');
    await page.getByRole('button', { name: 'Lift it now' }).click();
    for (const each of [page, other]) await each.getByRole('alert', { name: 'Stopped' }).waitFor({ state: 'detached' });
    expect(await active()).toEqual([]);
  });

  it('are not offered to who may not stop anything', async () => {
    const { program, auditor } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/activity`);
    await signIn(page, auditor.key);
    await page.getByRole('main', { name: 'Activity' }).waitFor();
    expect(await page.getByRole('button', { name: 'Stop agents' }).count()).toBe(0);
  });
});

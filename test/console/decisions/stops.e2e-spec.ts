import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';
import { overflow } from '../look';

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
    const focused = (): Promise<string> => page.evaluate('document.activeElement.innerText');
    await page.getByRole('button', { name: 'Stop agents' }).press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    expect(await focused()).toBe('Stop agents');
    await page.keyboard.press('Enter');
    const form = page.getByRole('form', { name: 'Stop agents' });
    await form.getByRole('button', { name: 'Stop everything now' }).waitFor();
    await form.getByLabel('Agent').fill('payment-bot');
    await form.getByLabel('Actions').fill('pay-*\n\nread the invoice\n');
    await form.getByLabel('Reason').fill('It pays twice.');
    await form.getByRole('button', { name: 'Stop them now' }).click();
    for (const each of [page, other])
      await each
        .getByRole('alert', { name: 'Stopped' })
        .filter({ hasText: /1 stop in force.*payment-bot, pay-\* and read the invoice.*It pays twice\./s })
        .waitFor();
    expect(await active()).toMatchObject([{ agentId: bot.id, actions: ['pay-*', 'read the invoice'] }]);
    await page.getByRole('button', { name: 'Lift', exact: true }).click();
    await page.getByRole('form', { name: 'Lift the stop' }).getByLabel('Reason').fill('Mended.');
    await page.getByRole('button', { name: 'Lift it now' }).click();
    for (const each of [page, other]) await each.getByRole('alert', { name: 'Stopped' }).waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(await active()).toEqual([]);
  });

  it('are all shown and lifted, and not passed over where they could not be loaded', async () => {
    const { program, sara } = stage.company;
    const ids: string[] = [];
    for (let number = 1; number <= 7; number += 1) {
      const body = { role: `role-${number}`, reason: `Reason ${number}. ${'r'.repeat(600)}` };
      ids.push((await send(program, 'POST', '/api/v1/stops', { body })).body.id);
    }
    const page = await stage.browser.open(`${program.url}/console/policies`, { expected: [/status of 500/] });
    await page.route('**/stops?*', (route) => route.fulfill({ status: 500, body: '{}' }), { times: 1 });
    await signIn(page, sara.key);
    await page.getByText('What is stopped now could not be loaded:').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    const banner = page.getByRole('alert', { name: 'Stopped' });
    await banner.getByText('7 stops in force').waitFor();
    expect(await page.getByText('could not be loaded').count()).toBe(0);
    await banner.getByRole('button', { name: 'Show 2 earlier ones' }).click();
    await banner.getByText('Reason 1.').waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await banner.getByRole('button', { name: 'Lift' }).count()).toBe(7);
    for (const id of ids) await send(program, 'POST', `/api/v1/stops/${id}/lift`, { body: { reason: 'Over.' } });
    await banner.waitFor({ state: 'detached' });
  });

  it('are not offered to who may not stop anything', async () => {
    const { program, auditor } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/activity`);
    await signIn(page, auditor.key);
    await page.getByRole('main', { name: 'Activity' }).waitFor();
    expect(await page.getByRole('button', { name: 'Stop agents' }).count()).toBe(0);
  });
});

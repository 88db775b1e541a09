import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AnyScope } from '../http/request/route-marks';
import { Caller } from '../http/pipeline/caller.decorator';
import { MeResponse } from './dto/me.response';

@ApiTags('API keys')
@AnyScope()
@Controller('me')
export class MeController {
  @Get()
  @ApiOperation({
    summary: 'Show who you are',
    description: 'What your key or token allows you to do, and on whose behalf.',
  })
  @ApiOkResponse({ type: MeResponse, description: 'The caller.' })
  get(@Caller() caller: Caller): MeResponse {
    return MeResponse.of(caller);
  }
}

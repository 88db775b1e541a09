import{a,b,c,d,e}from"./chunk.XGMAAWW5.js";import"./chunk.XNRGW7KO.js";import"./chunk.35GLESCP.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};

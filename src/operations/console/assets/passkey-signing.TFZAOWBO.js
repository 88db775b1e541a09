import{a,b,c,d,e}from"./chunk.FI7IPKS4.js";import"./chunk.IP5D2F5X.js";import"./chunk.T4VBA6PY.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};

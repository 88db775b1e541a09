import{l as e}from"./chunk.QNNW7YC6.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
